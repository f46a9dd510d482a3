import { Anchor } from '@mantine/core'
import { Link } from 'react-router'

/** The id is in the query string: it may contain dots and slashes, which servers take for files and folders. */
export function DeviceLink({ guid, display }: { guid: string; display?: 'block' }) {
  const to = `/device?guid=${encodeURIComponent(guid)}`
  return (
    <Anchor component={Link} to={to} size="sm" display={display} className="breaks">
      {guid}
    </Anchor>
  )
}
