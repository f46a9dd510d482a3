/** Why Herald cannot start here; the message is one sentence for the person who started it. */
export class StartProblem extends Error {
  override name = 'StartProblem'
}
