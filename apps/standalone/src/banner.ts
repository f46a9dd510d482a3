import type { Demo } from '@herald/settings'

/** Printed when everything is ready: the addresses, and a command to try. */
export function banner(demo: Demo, dataDir: string): string {
  return `
Herald is ready at ${demo.base_url}

  console     ${demo.base_url}/console/ (sign in as operator with the operator_key in ${dataDir}/demo.json)
  try it      ${curlLine(demo, dataDir)}
  test device ${demo.base_url}/native/demo${demo.app_id ? `?app_id=${demo.app_id}` : ''}
  keys        ${dataDir}/demo.json
  API docs    ${demo.base_url}/docs
  vendors     ${vendorLine(demo)}
  data        ${dataDir}
  stop        Ctrl-C

`
}

function vendorLine({ simulators = {} }: Demo): string {
  const names = Object.keys(simulators)
  return names.length === 0
    ? 'the real vendors are called'
    : `simulated on this machine: ${names.join(', ')}; HERALD_SIMULATORS=off calls the real vendors`
}

/** Reads the token from the file: what is printed stays in journals and terminals. */
function curlLine({ base_url, app_id, admin_token }: Demo, dataDir: string): string {
  if (!app_id || !admin_token) return `curl ${base_url}/readyz`
  const path = `${dataDir}/demo.json`.replaceAll("'", `'\\''`)
  const token = `$(sed -n 's/.*"admin_token": "\\(.*\\)".*/\\1/p' '${path}')`
  const body = JSON.stringify({
    audience: 'all',
    message: { title: 'Hello', body: 'A push to every demo device' },
  })
  return `curl -H 'app_id: ${app_id}' -H "access-token: ${token}" -H 'content-type: application/json' -d '${body}' ${base_url}/push/notify`
}
