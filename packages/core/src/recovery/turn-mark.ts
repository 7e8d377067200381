/** Does the mark of the running turn belong to this one? Only then may it be taken away, or anything be written under it. */
export function ownsMark(mark: string | null, turnId: string): boolean {
  return mark !== null && mark === turnId;
}

const CLEARS_MAX = 3;

/** May the mark of a turn that has ended, its lane's lock, be cleared once more, after so many tries that failed? How it ended stays as it is. */
export function mayClearAgain(failures: number): boolean {
  return failures < CLEARS_MAX;
}
