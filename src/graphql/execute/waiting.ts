/** An edge and the holes it fills. */
export interface Waiting<WaitingEdge, WaitingHole> {
  readonly edge: WaitingEdge;
  readonly holes: readonly WaitingHole[];
}
