import { useEffect, useRef, useState } from 'react'

/**
 * What is typed into a form whose values are in the URL. The URL may also change by other means, such as the browser's Back. Then only the
 * fields that it changed are replaced: it arrives late, and something may have been typed into another field by then.
 */
export function useTyped<Values extends Record<string, string>>(current: Values) {
  const [typed, setTyped] = useState(current)
  const before = useRef(current)
  const text = JSON.stringify(current)
  useEffect(() => {
    const now: Values = JSON.parse(text)
    const changed = Object.entries(now).filter(([name, value]) => value !== before.current[name])
    before.current = now
    if (changed.length > 0) setTyped((last) => ({ ...last, ...Object.fromEntries(changed) }))
  }, [text])
  /** The URL gets these values next, so they are no change from outside. */
  const apply = (values: Values): Values => {
    before.current = values
    setTyped(values)
    return values
  }
  return {
    typed,
    /** The properties of a field's input. */
    input: (name: keyof Values) => ({
      value: typed[name],
      onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
        setTyped((last) => ({ ...last, [name]: value })),
    }),
    /** The values without white space around them. */
    submit: () =>
      apply(Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()])) as Values),
    /** Empties all fields. */
    clear: () => apply(Object.fromEntries(Object.keys(typed).map((name) => [name, ''])) as Values),
  }
}
