import type { Context } from '../route.ts'

/** How far an admin's call reaches: the application, or one group in it. */
export function scopeOf({ appId, caller }: Context): { appId: string; groupId?: bigint } {
  return { appId, groupId: caller.role === 'admin' ? caller.groupId : undefined }
}

/** The same for verbs over tasks, whose group ids are Herald's own and so below 2^53. */
export function taskScopeOf(context: Context): { appId: string; groupId?: number } {
  const { appId, groupId } = scopeOf(context)
  return { appId, groupId: groupId === undefined ? undefined : Number(groupId) }
}
