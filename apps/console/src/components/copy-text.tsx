import { ActionIcon, Code, CopyButton, Group } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'

/** A value with a copy button; `shown` is displayed instead of a value that is too long. */
export function CopyText({ value, shown = value }: { value: string; shown?: string }) {
  const { t } = useTranslation()
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex">
      <Code className="breaks">{shown}</Code>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <ActionIcon
            variant="subtle"
            size="sm"
            onClick={copy}
            aria-label={copied ? t('app.copied') : t('app.copy')}
          >
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </ActionIcon>
        )}
      </CopyButton>
    </Group>
  )
}
