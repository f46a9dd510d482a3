import type { Demo } from './demo-file.ts'

/** What is shown when everything is ready: where it is and what to try. */
export function banner(demo: Demo, dataDir: string): string {
  return `
Herald is ready at ${demo.base_url}

  console     ${demo.base_url}/console/ (sign in as the operator, with the operator_key of ${dataDir}/demo.json)
  try it      ${curlLine(demo)}
  a device    ${demo.base_url}/native/demo${demo.app_id ? `?app_id=${demo.app_id}` : ''}
  keys        ${dataDir}/demo.json
  read        ${demo.base_url}/docs
  vendors     ${vendorLine(demo)}
  data        ${dataDir}
  stop        Ctrl-C

`
}

function vendorLine({ simulators = {} }: Demo): string {
  const names = Object.keys(simulators)
  return names.length === 0
    ? 'real ones are called'
    : `simulated on this machine: ${names.join(', ')}; HERALD_SIMULATORS=off calls the real ones`
}

function curlLine({ base_url, app_id, admin_token }: Demo): string {
  if (!app_id || !admin_token) return `curl ${base_url}/readyz`
  const body = JSON.stringify({
    audience: 'all',
    message: { title: 'Hello', body: 'A push to every demo device' },
  })
  return `curl -H 'app_id: ${app_id}' -H 'access-token: ${admin_token}' -H 'content-type: application/json' -d '${body}' ${base_url}/push/notify`
}
