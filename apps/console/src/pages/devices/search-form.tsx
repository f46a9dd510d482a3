import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type SearchKind, searchKinds } from './search.ts'

type Props = { by: SearchKind; value: string; onSearch(by: SearchKind, value: string): void }

export function SearchForm({ by: initialBy, value: initialValue, onSearch }: Props) {
  const { t } = useTranslation()
  const [by, setBy] = useState(initialBy)
  const [value, setValue] = useState(initialValue)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(by, value.trim())
      }}
    >
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label={t('devices.by')}
          value={by}
          onChange={({ currentTarget }) => setBy(currentTarget.value as SearchKind)}
          data={searchKinds.map((kind) => ({ value: kind, label: t(`devices.${kind}`) }))}
        />
        <TextInput
          className="grow"
          miw={180}
          maw={420}
          label={t('devices.value')}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
        <Button type="submit" leftSection={<IconSearch size={16} aria-hidden />}>
          {t('devices.search')}
        </Button>
      </Group>
    </form>
  )
}
