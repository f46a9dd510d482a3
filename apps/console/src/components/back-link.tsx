import { Anchor } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { AppLink } from './app-link.tsx'

/** Link from the page of one record to the list. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={AppLink} to={to} size="sm" className="back">
      <IconArrowLeft size={14} aria-hidden />
      {children}
    </Anchor>
  )
}
