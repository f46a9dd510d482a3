const COMPONENT = /^component=[\w.]+\/[\w.$]+$/
const EXTRA = /^[A-Za-z][^=;]*=/

/**
 * Returns what is wrong with an intent URI, or undefined. It must have a component of the form package/activity, as in
 * `intent:#Intent;component=com.example.app/com.example.app.MainActivity;S.order=77;end`.
 */
export function checkIntent(intent: string): string | undefined {
  const [head, ...parts] = intent.split(';')
  if (!head || !/^intent:[^#\s]*#Intent$/.test(head)) return 'must begin with intent:#Intent;'
  if (parts.at(-1) === '') parts.pop()
  if (parts.pop() !== 'end') return 'must end with ;end'
  if (!parts.some((part) => COMPONENT.test(part))) return 'must have component=package/activity'
  if (!parts.every((part) => EXTRA.test(part)))
    return 'must have only parts of the form S.key=value between semicolons'
  return undefined
}
