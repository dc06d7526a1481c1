# SPDX-License-Identifier: Apache-2.0
"""A linear classifier in JAX; batches arrive by DLPack, without a copy on the CPU.

python jax_minimal.py train.stk [--steps 100]
"""

import argparse

import jax
import jax.numpy as jnp
import stoker


def loss_function(weights, images, labels):
    x = images.reshape(len(images), -1).astype(jnp.float32) / 255 - 0.5
    scores = jax.nn.log_softmax(x @ weights)
    return -scores[jnp.arange(len(labels)), labels].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    dataset = stoker.open(args.data)
    loader = stoker.Loader(dataset, min(64, len(dataset)), transform=stoker.Train(32), last="drop")
    weights = jnp.zeros((32 * 32 * 3, len(dataset.classes)))
    step = jax.jit(jax.value_and_grad(loss_function))
    done = 0
    while done < args.steps:
        for images, labels in loader:
            loss, gradient = step(weights, jnp.from_dlpack(images), jnp.asarray(labels))
            weights -= 0.01 * gradient
            done += 1
            if done % 20 == 0 or done == args.steps:
                print(f"step {done:4}  loss {loss:.4f}")
            if done == args.steps:
                break


if __name__ == "__main__":
    main()
