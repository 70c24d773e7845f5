# (kind, amount in EUR)
receipts = [('meal', 52.40), ('hotel', 128.00)]

limits = {'meal': 45, 'hotel': 140, 'taxi': 30}
paid = [min(amount, limits.get(kind, amount)) for kind, amount in receipts]
for (kind, amount), back in zip(receipts, paid):
    print(f'{kind}: {amount:.2f} EUR, paid back {back:.2f} EUR')
print(f'total: {sum(paid):.2f} EUR')
