import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useTranslation } from 'react-i18next'

type Props = { title: string; lead?: ReactNode; children?: ReactNode }

/** The page's name, also in the window's title; what can be done on the page stands at its right. */
export function PageHead({ title, lead, children }: Props) {
  const { t } = useTranslation()
  const name = t('app.name')
  useEffect(() => {
    document.title = `${title} · ${name}`
  }, [title, name])
  return (
    <Group justify="space-between" align="flex-end" mb="md" gap="sm">
      <div>
        <Title order={1}>{title}</Title>
        {lead && (
          <Text c="dimmed" size="sm" component="div">
            {lead}
          </Text>
        )}
      </div>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  )
}
