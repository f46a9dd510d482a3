/** Why there is no Postgres; the message is one sentence for an operator. */
export class PostgresProblem extends Error {
  override name = 'PostgresProblem'
}
