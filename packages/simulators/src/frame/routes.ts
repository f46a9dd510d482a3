/** Routes of a vendor by method and path, such as `POST /v1/{appId}/messages:send`; `{name}` matches one segment part. */
export type RouteTable<Route> = Readonly<Record<string, Route>>

export type FoundRoute<Route> =
  | { route: Route; params: Readonly<Record<string, string>> }
  /** The methods of the path; empty for an unknown path. */
  | { allow: string[] }

/** Compiles a table; the result finds the route of a request. */
export function compileRoutes<Route>(
  table: RouteTable<Route>,
): (method: string, path: string) => FoundRoute<Route> {
  const routes = Object.entries(table).map(([key, route]) => {
    const [method, path] = key.split(' ') as [string, string]
    const pattern = path
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>[^/:]*)`)
    return { method, route, pattern: new RegExp(`^${pattern}$`) }
  })
  return (method, path) => {
    const allow: string[] = []
    for (const one of routes) {
      const match = one.pattern.exec(path)
      if (!match) continue
      if (one.method === method) return { route: one.route, params: match.groups ?? {} }
      allow.push(one.method)
    }
    return { allow }
  }
}
