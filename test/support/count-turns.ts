/** Counts the turns of the event loop that other work has during this work. */
export async function countTurns<Result>(work: () => Promise<Result>): Promise<{ result: Result; turns: number }> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await work();
    return { result, turns };
  } finally {
    isOver = true;
  }
}
