import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'

type Props = {
  /** The form is being saved: what is typed now would be lost with the answer. */
  busy: boolean
  children: ReactNode
}

/** The fields of a form, without its buttons. */
export function FieldGroup({ busy, children }: Props) {
  return (
    <fieldset className="fields" disabled={busy}>
      <Stack gap="sm">{children}</Stack>
    </fieldset>
  )
}
