import type { RecoveryPauses } from '@herald/domain'
import type { Service } from '@herald/program'

/** The usual ones are minutes long; with these a drill sees a channel disabled and enabled again by itself. */
const pauses: RecoveryPauses = { probe: [3, 5, 10], check: 2, breaker: { first: 2, max: 8 } }

export const withShortPauses = (service: Service): Service => ({
  ...service,
  start: (context) => service.start({ ...context, pauses }),
})
