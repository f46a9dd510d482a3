import type { Explanation } from '@herald/client'
import { List, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useWords } from './words.ts'

/** Herald's answer to where a push would go; its reasons are shown as it gives them. */
export function Explained({ device, explanation }: { device: string; explanation: Explanation }) {
  const { t } = useTranslation()
  const { channel } = useWords()
  const { channel: chosen, reason, others } = explanation
  return (
    <div role="status">
      <Text size="sm" fw={600} className="breaks">
        {chosen === null
          ? t('send.explainNot', { device })
          : t('send.explainGoes', { device, channel: channel(chosen) })}
      </Text>
      <Text size="sm" className="breaks" data-from="api">
        {reason}
      </Text>
      {others.length > 0 && (
        <>
          <Text size="xs" c="dimmed" mt="xs">
            {t('send.explainOthers')}
          </Text>
          <List size="sm">
            {others.map((other) => (
              <List.Item key={other.channel}>
                {channel(other.channel)}: <span data-from="api">{other.reason}</span>
              </List.Item>
            ))}
          </List>
        </>
      )}
    </div>
  )
}
