const COMPONENT = /^component=[\w.]+\/[\w.$]+$/
const EXTRA = /^[A-Za-z][^=;]*=/

/**
 * What is wrong with an intent URI; undefined = nothing. It has to name a component as package/activity, as in
 * `intent:#Intent;component=com.example.app/com.example.app.MainActivity;S.order=77;end`.
 */
export function checkIntent(intent: string): string | undefined {
  const [head, ...parts] = intent.split(';')
  if (!head || !/^intent:[^#\s]*#Intent$/.test(head)) return 'must begin with intent:#Intent;'
  if (parts.at(-1) === '') parts.pop()
  if (parts.pop() !== 'end') return 'must end with ;end'
  if (!parts.some((part) => COMPONENT.test(part))) return 'must name component=package/activity'
  if (!parts.every((part) => EXTRA.test(part)))
    return 'must have parts of the form S.key=value between its semicolons'
  return undefined
}
