import { expect, it, jest } from '@jest/globals'
import { createActivity } from '../src/index.ts'

it('tells listeners of each note, and how long ago the last one was', () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(1000)
  const activity = createActivity({ isAlone: true })
  let notes = 0
  const remove = activity.onNote(() => void notes++)
  now.mockReturnValue(4000)
  expect(activity.quietMs()).toBe(3000)
  activity.note()
  expect(activity.quietMs()).toBe(0)
  remove()
  activity.note()
  expect(notes).toBe(1)
  now.mockRestore()
})
