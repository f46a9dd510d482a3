import { Anchor } from '@mantine/core'
import { Link } from 'react-router'

/** Leads to the tasks of a campaign. */
export function CampaignLink({ name }: { name: string }) {
  return (
    <Anchor
      component={Link}
      to={`/tasks?campaign=${encodeURIComponent(name)}`}
      size="sm"
      className="breaks"
      data-from="api"
    >
      {name}
    </Anchor>
  )
}
