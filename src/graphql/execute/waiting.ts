/** An edge with the places of the response that wait for it. */
export interface Waiting<WaitingEdge, WaitingHole> {
  readonly edge: WaitingEdge;
  readonly holes: readonly WaitingHole[];
}
