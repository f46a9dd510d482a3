import { Alert } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import type { ReactNode } from 'react'

/** That something worked, told to those who see and those who listen. */
export function Done({ children }: { children: ReactNode }) {
  return (
    <Alert role="status" color="herald" variant="light" icon={<IconCircleCheck size={18} aria-hidden />}>
      {children}
    </Alert>
  )
}
