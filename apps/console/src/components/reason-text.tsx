import { Text } from '@mantine/core'
import { useLabels } from '../i18n/labels.ts'

/**
 * A reason in the current language: what it means, what to do, and behind that the words and the code of the vendor. Details come from the
 * API and are not translated.
 */
export function ReasonText({ code, reason }: { code: string | null; reason: string }) {
  const { translated, advice, original } = useLabels().reason(code, reason)
  const isOfVendor = advice !== undefined || !translated
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
          {isOfVendor && code ? `${code}: ${original}` : original}
        </Text>
      )}
    </>
  )
}
