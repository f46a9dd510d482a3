import { z } from 'zod'
import { audience } from './audience.ts'
import { checkLiveActivity } from './live-activity.ts'
import { message } from './message-schema.ts'
import { setting } from './setting-schema.ts'

/** The body of notify. */
export const notifyBody = z.strictObject({ audience, setting, message }).superRefine(checkLiveActivity)
