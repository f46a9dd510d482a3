import { Text } from '@mantine/core'
import { type ReasonLabel, useLabels } from '../i18n/labels.ts'

/** A reason in the current language, by its code. */
export function ReasonText({ code, reason }: { code: string | null; reason: string }) {
  const label = useLabels().reason(code, reason)
  const isOfVendor = label.advice !== undefined || !label.translated
  return <Label {...label} original={isOfVendor && code ? withCode(code, label.original) : label.original} />
}

/** The same of a reason that was stored without its code. */
export function StoredReasonText({ channel, reason }: { channel: string; reason: string }) {
  return <Label {...useLabels().storedReason(channel, reason)} />
}

const withCode = (code: string, original: string | undefined) => original && `${code}: ${original}`

/** What it means, what to do, and behind that the words of the vendor, which are not translated. */
function Label({ translated, advice, original }: ReasonLabel) {
  return (
    <>
      {translated}
      {advice && (
        <Text span display="block" size="xs" c="dimmed">
          {advice}
        </Text>
      )}
      {original && (
        <Text
          span
          display="block"
          size={translated ? 'xs' : undefined}
          inherit={!translated}
          c={translated && 'dimmed'}
          data-from="api"
        >
          {original}
        </Text>
      )}
    </>
  )
}
