import type { User } from '@herald/db/tenants'
import { z } from 'zod'
import { int64Out, seconds, timestamp } from './fields.ts'

export const userRecord = z.object({
  user_id: int64Out,
  username: z.string(),
  mobile: z.string().nullable(),
  email: z.string().nullable(),
  created_at: timestamp,
})

export function showUser(user: User): z.input<typeof userRecord> {
  return {
    user_id: user.userId,
    username: user.username,
    mobile: user.mobile,
    email: user.email,
    created_at: seconds(user.createdAt),
  }
}
