import { Button, Group, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useTyped } from './use-typed.ts'

type Props = { campaign: string; onChange(campaign: string): void }

/** The filter is applied by Enter or the button, not by each letter. */
export function CampaignFilter({ campaign, onChange }: Props) {
  const { t } = useTranslation()
  const { input, submit } = useTyped({ campaign })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onChange(submit().campaign)
      }}
    >
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput {...input('campaign')} label={t('tasks.campaign')} maxLength={64} />
        <Button type="submit" variant="default">
          {t('tasks.filter')}
        </Button>
      </Group>
    </form>
  )
}
