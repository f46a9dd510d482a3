import { Button, Group, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'

type Props = { campaign: string; onChange(campaign: string): void }

/** The filter is applied by Enter or the button, not by each letter. */
export function CampaignFilter({ campaign, onChange }: Props) {
  const { t } = useTranslation()
  const [value, setValue] = useState(campaign)
  // The URL may change by other means, such as the browser's Back.
  useEffect(() => setValue(campaign), [campaign])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onChange(value.trim())
      }}
    >
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label={t('tasks.campaign')}
          value={value}
          maxLength={64}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
        <Button type="submit" variant="default">
          {t('tasks.filter')}
        </Button>
      </Group>
    </form>
  )
}
