import { describe, expect, it } from '@jest/globals'
import { eventLevel, type WantedEvents } from '../src/events.ts'

const tasks: WantedEvents = { events: ['task.finished', 'certificate.closed'] }
const devices: WantedEvents = { events: ['device.sent'] }
const spring: WantedEvents = { events: ['device.sent', 'task.finished'], campaign: 'spring' }
const springTasks: WantedEvents = { events: ['task.cancelled'], campaign: 'spring' }

describe('the events of a task', () => {
  it.each<[webhooks: WantedEvents[], task: { events?: boolean; campaign?: string }, level: number]>([
    [[], {}, 0],
    [[], { events: true }, 2],
    [[], { events: false, campaign: 'spring' }, 0],
    [[tasks], {}, 1],
    [[tasks], { campaign: 'spring' }, 1],
    [[devices], {}, 0],
    [[devices], { campaign: 'spring' }, 0],
    [[devices], { events: true }, 2],
    [[spring], {}, 0],
    [[spring], { campaign: 'autumn' }, 0],
    [[spring], { campaign: 'spring' }, 2],
    [[springTasks], { campaign: 'spring' }, 1],
    [[springTasks], {}, 0],
    [[springTasks, tasks], {}, 1],
    [[tasks, spring], { campaign: 'spring' }, 2],
    [[{ events: ['token.retired'] }], {}, 0],
  ])('with webhooks %j, task %j: %i', (webhooks, task, level) =>
    expect(eventLevel(webhooks, task)).toBe(level),
  )
})
