import { Anchor } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { Link } from 'react-router'

/** From one thing to the list it came out of. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" className="back">
      <IconArrowLeft size={14} aria-hidden />
      {children}
    </Anchor>
  )
}
