import type { Explanation } from '@herald/client'
import { List, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useLabels } from '../i18n/labels.ts'
import { NoteText } from './note-text.tsx'
import { ReasonText } from './reason-text.tsx'

/** The message would not be sent at once. */
const sentences: Partial<Record<string, 'send.explainInbox' | 'send.explainWaits'>> = {
  'herald.offline_to_inbox': 'send.explainInbox',
  'herald.no_vendor_to_inbox': 'send.explainInbox',
  'herald.waiting_for_channel': 'send.explainWaits',
}

/** The channel a push would use and why. */
export function ExplanationView({ device, explanation }: { device: string; explanation: Explanation }) {
  const { t } = useTranslation()
  const { channel } = useLabels()
  const { channel: chosen, code, reason, others, notes } = explanation
  return (
    <div role="status">
      <Text size="sm" fw={600} className="breaks">
        {chosen === null
          ? t('send.explainNot', { device })
          : t(sentences[code] ?? 'send.explainGoes', { device, channel: channel(chosen) })}
      </Text>
      <Text size="sm" className="breaks">
        <ReasonText code={code} reason={reason} />
      </Text>
      {notes.map((note) => (
        <Text key={note} size="sm" className="breaks">
          <NoteText>{note}</NoteText>
        </Text>
      ))}
      {others.length > 0 && (
        <>
          <Text size="xs" c="dimmed" mt="xs">
            {t('send.explainOthers')}
          </Text>
          <List size="sm">
            {others.map((other) => (
              <List.Item key={other.channel}>
                {channel(other.channel)}
                {t('app.colon')}
                <ReasonText code={other.code} reason={other.reason} />
                {other.notes?.map((note) => (
                  <Text key={note} size="xs" c="dimmed" className="breaks">
                    <NoteText>{note}</NoteText>
                  </Text>
                ))}
              </List.Item>
            ))}
          </List>
        </>
      )}
    </div>
  )
}
