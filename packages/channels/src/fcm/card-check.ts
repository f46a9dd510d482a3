import type { CheckFields } from '../card.ts'

/** Combinations of the fields of `fcm` of which one would be ignored. */
export const checkFields: CheckFields = (fcm, message) => {
  const isCommand = message.type === 'cmd'
  for (const field of ['icon', 'color'])
    if (isCommand && fcm[field] !== undefined) return { field, problem: 'cannot be set if type is cmd' }
  if (message.urgent === true && String(fcm.priority).toUpperCase() === 'NORMAL')
    return { field: 'priority', problem: 'cannot be NORMAL if urgent is true' }
  return undefined
}
