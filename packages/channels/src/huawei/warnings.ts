import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
import { attachmentPlace } from '../shared/payload-parts.ts'
import { call, categoryOf, soundName, urgencyOf, voice } from './payload-rules.ts'
import { harmonyClick } from './payload-v3.ts'
import type { HuaweiSettings } from './settings.ts'

const asMarketing = 'as marketing: silent, text only, at most 2 per device and day'

export function warnings({ classes }: HuaweiSettings): string[] {
  const found: string[] = []
  if (!classes.service.category)
    found.push(
      `extra.classes.service.category is not set, so Huawei treats service messages ${asMarketing}. ` +
        'Apply for self-classification in AppGallery Connect and set the category.',
    )
  if (Object.values(classes).some(({ importance }) => importance === 'HIGH')) found.push(noHighImportance)
  return found
}

const noHighImportance = 'Huawei refuses the importance HIGH: messages are sent with NORMAL.'
const urgencyNeedsPermission =
  'The urgency HIGH needs a permission that Huawei grants per app; without it messages are sent with NORMAL.'

export function notes(task: Task, settings: HuaweiSettings): string[] {
  const { message, messageClass } = task
  const isCommand = message.type === 'cmd'
  const category = categoryOf(task, settings)
  const importance = message.huawei.importance ?? settings.classes[messageClass].importance
  const { image, inData } = attachmentPlace(message)
  const { sound } = androidView(message, 'huawei')
  const { inData: clickData = {} } = harmonyClick(message)
  const name = soundName(sound)
  const showsOnHarmony = !isCommand && settings.account !== undefined
  const rules: [applies: boolean, note: string][] = [
    [
      !isCommand && messageClass === 'service' && !category,
      `The message has no category, so Huawei treats it ${asMarketing}.`,
    ],
    [!isCommand && importance === 'HIGH', noHighImportance],
    [isCommand && urgencyOf(message) === 'HIGH', urgencyNeedsPermission],
    [
      !isCommand && image !== undefined,
      'Huawei shows pictures of less than 512 KB, HarmonyOS 5 only up to 49,152 pixels (128 x 128 is advised), and none in ' +
        'marketing messages.',
    ],
    [
      message.type === 'image' && inData !== undefined,
      'Huawei shows pictures with an https address only; this one is sent in the data.',
    ],
    [
      showsOnHarmony && 'intent' in clickData,
      'HarmonyOS 5 has no Android intents: a tap opens the home page, and the intent is in the data.',
    ],
    [
      showsOnHarmony && 'url' in clickData,
      'HarmonyOS 5 opens no web pages: a tap opens the home page, and the address is in the data.',
    ],
    [
      isCommand && message.urgent === true && settings.account !== undefined,
      'HarmonyOS 5 has no urgency: a background message waits until the app is in front.',
    ],
    [
      message.huawei.clickPage !== undefined && settings.account === undefined,
      'huawei.click_page is for HarmonyOS 5 and later, which needs a service account in the certificate.',
    ],
    [
      message.huawei.harmonyPushType !== undefined && settings.account === undefined,
      'huawei.harmony_push_type is for HarmonyOS 5 and later, which needs a service account in the certificate.',
    ],
    [
      message.huawei.harmonyPushType === voice || message.huawei.harmonyPushType === call,
      'Voice broadcasts and calls need a permission from Huawei; without it HarmonyOS 5 gets an alert, if the message has texts.',
    ],
    [
      showsOnHarmony && name !== undefined && !/\.\w+$/.test(name),
      'HarmonyOS 5 finds a sound only by its file name with the ending, such as ring.mp3; otherwise it plays the default sound.',
    ],
  ]
  return rules.flatMap(([applies, note]) => (applies ? [note] : []))
}
