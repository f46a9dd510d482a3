import type { FailureGroup } from '@herald/client'
import { DeviceLink } from '../../components/device-link.tsx'

const MAX_SHOWN = 3

export function SampleDevices({ samples }: { samples: FailureGroup['samples'] }) {
  return samples
    .slice(0, MAX_SHOWN)
    .map(({ device_id, device_guid }) =>
      device_guid === null ? (
        <div key={String(device_id)}>{String(device_id)}</div>
      ) : (
        <DeviceLink key={String(device_id)} guid={device_guid} display="block" />
      ),
    )
}
