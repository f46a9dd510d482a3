import { Anchor } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { Link } from 'react-router'

/** Link from the page of one record to the list. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" className="back">
      <IconArrowLeft size={14} aria-hidden />
      {children}
    </Anchor>
  )
}
