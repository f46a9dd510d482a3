import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { SearchKind } from './search.ts'

type Props<Kind extends SearchKind> = {
  kinds: readonly Kind[]
  by: Kind
  value: string
  onSearch(by: Kind, value: string): void
}

export function SearchForm<Kind extends SearchKind>({
  kinds,
  by: initialBy,
  value: initialValue,
  onSearch,
}: Props<Kind>) {
  const { t } = useTranslation()
  const [by, setBy] = useState(initialBy)
  const [value, setValue] = useState(initialValue)
  // The URL may change by other means, such as the browser's Back. A new form would lose the focus.
  useEffect(() => {
    setBy(initialBy)
    setValue(initialValue)
  }, [initialBy, initialValue])
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
          onChange={({ currentTarget }) => setBy(currentTarget.value as Kind)}
          data={kinds.map((kind) => ({ value: kind, label: t(`devices.${kind as SearchKind}`) }))}
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
