import { useEffect, useState } from 'react'
import { type FieldName, idOf, sectionOf } from './fields.ts'

/** Which parts of the form are open, and a way to go to a field: its part is opened first. */
export function useFocusField() {
  const [sections, setSections] = useState<string[]>([])
  const [platforms, setPlatforms] = useState<string[]>([])
  const [wanted, setWanted] = useState<{ field: FieldName }>()
  useEffect(() => {
    if (!wanted) return
    const input = document.getElementById(idOf(wanted.field))
    input?.focus({ preventScroll: true })
    input?.scrollIntoView({ block: 'center' })
  }, [wanted])
  return {
    sections,
    setSections,
    platforms,
    setPlatforms,
    focusField(field: FieldName) {
      const place = sectionOf(field)
      const add = (name: string) => (before: string[]) => (before.includes(name) ? before : [...before, name])
      if (place) setSections(add(place.section))
      if (place?.platform) setPlatforms(add(place.platform))
      // A new object, so that the same field can be focused again.
      setWanted({ field })
    },
  }
}
