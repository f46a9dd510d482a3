/** The key of an API name such as `task.cancel`. It has `_` in place of the dot, which separates the levels of the dictionary. */
export function keyOf<Name extends string>(name: Name): Key<Name> {
  return name.replace('.', '_') as Key<Name>
}

type Key<Name> = Name extends `${infer Subject}.${infer Verb}` ? `${Subject}_${Verb}` : never
