/**
 * Loaded before the test runner (`--require`): stops it from following every promise.
 *
 * The runner follows all asynchronous work with `async_hooks`, to name the test of an error that no
 * test awaited. For promises, that takes a fifth of the processor time of all tests. Such an error
 * still fails its file.
 */
const hooks = require('node:async_hooks')
const { createHook } = hooks

hooks.createHook = (callbacks) => {
  const isOfRunner = /node:internal\/test_runner/.test(new Error().stack)
  return createHook(isOfRunner ? { ...callbacks, trackPromises: false } : callbacks)
}
