import { Text } from '@mantine/core'
import { useLabels } from '../i18n/labels.ts'

/** A reason in the current language. Details and the texts of vendors come from the API and are not translated. */
export function ReasonText({ code, reason }: { code: string | null; reason: string }) {
  const { translated, original } = useLabels().reason(code, reason)
  return (
    <>
      {translated}
      {original && (
        <Text span inherit display="block" c={translated && 'dimmed'} data-from="api">
          {original}
        </Text>
      )}
      {!translated && code && (
        <Text span display="block" size="xs" c="dimmed" data-from="api">
          {code}
        </Text>
      )}
    </>
  )
}
