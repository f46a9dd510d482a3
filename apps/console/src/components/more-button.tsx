import { Button, Center } from '@mantine/core'
import { useTranslation } from 'react-i18next'

type Pages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown }

export function MoreButton({ pages }: { pages: Pages }) {
  const { t } = useTranslation()
  if (!pages.hasNextPage) return null
  return (
    <Center>
      <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
        {t('app.more')}
      </Button>
    </Center>
  )
}
