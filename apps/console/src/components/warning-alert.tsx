import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'

type Props = { color: 'red' | 'orange'; title?: string; children: ReactNode }

/** Also announced by screen readers, at once. */
export function WarningAlert({ color, title, children }: Props) {
  return (
    <Alert
      role="alert"
      color={color}
      variant="light"
      title={title}
      icon={<IconAlertTriangle size={18} aria-hidden />}
    >
      {children}
    </Alert>
  )
}
