import { Anchor } from '@mantine/core'
import { AppLink } from './app-link.tsx'

/** The id is in the query string: it may contain dots and slashes, which servers take for files and folders. */
export function DeviceLink({ guid, display }: { guid: string; display?: 'block' }) {
  const to = `/device?guid=${encodeURIComponent(guid)}`
  return (
    <Anchor component={AppLink} to={to} size="sm" display={display} className="breaks" lh={display && '24px'}>
      {guid}
    </Anchor>
  )
}
