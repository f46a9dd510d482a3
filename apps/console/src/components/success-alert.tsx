import { Alert } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import type { ReactNode } from 'react'

/** Also announced by screen readers. */
export function SuccessAlert({ children }: { children: ReactNode }) {
  return (
    <Alert role="status" color="herald" variant="light" icon={<IconCircleCheck size={18} aria-hidden />}>
      {children}
    </Alert>
  )
}
