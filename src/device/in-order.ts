/** Returns a function that runs steps one after another, in the order of the calls. */
export function newQueue(): <T>(step: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (step) => {
    const turn = tail.then(step)
    tail = turn.catch(() => undefined)
    return turn
  }
}
