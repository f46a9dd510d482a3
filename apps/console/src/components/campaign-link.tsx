import { Anchor } from '@mantine/core'
import { AppLink } from './app-link.tsx'

/** Leads to the tasks of a campaign. */
export function CampaignLink({ name }: { name: string }) {
  return (
    <Anchor
      component={AppLink}
      to={`/tasks?campaign=${encodeURIComponent(name)}`}
      size="sm"
      className="breaks"
      data-from="api"
    >
      {name}
    </Anchor>
  )
}
