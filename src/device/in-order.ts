/** Steps that run one after the other, in the order in which they were asked for. */
export function newTurns(): <T>(step: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (step) => {
    const turn = tail.then(step)
    tail = turn.catch(() => undefined)
    return turn
  }
}
