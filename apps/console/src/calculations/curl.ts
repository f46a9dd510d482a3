/** A shell command that makes the call. The token is a variable of the shell: a command is copied into chats and tickets. */
export function curlOf(origin: string, appId: string, path: string, body: string, groupId?: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  return [
    `curl -X POST ${quoted(origin + path)}`,
    `-H ${quoted(`app_id: ${appId}`)}`,
    ...(groupId === undefined ? [] : [`-H ${quoted(`group_id: ${groupId}`)}`]),
    '-H "access-token: $TOKEN"',
    "-H 'content-type: application/json'",
    `--data-binary ${quoted(body)}`,
  ].join(' \\\n  ')
}
