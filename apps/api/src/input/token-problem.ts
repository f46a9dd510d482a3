/** A vendor's complaint about its token, with the path of the field in front. */
export function tokenProblem(path: string, problem: string): string {
  const name = 'device_token'
  return problem.startsWith(name) ? `${path}${problem.slice(name.length)}` : `${path}: ${problem}`
}
